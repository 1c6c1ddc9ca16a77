import { expect, it } from 'vitest';
import type { Definition } from '@pawl/contracts';
import { allowedTools } from './admit.ts';
import { missingTool, pin, type Declared } from './pin.ts';
import { call, definitionWith, observed, started, stateOf, thought } from './story.suite.ts';
import { dataClassesOf } from './taint.ts';

const declared = definitionWith([
  {
    name: 'diagnose',
    skill: {
      steps: [
        { name: 'a', tool: 'metrics' },
        { name: 'b', tool: 'deep' },
      ],
    },
  },
  {
    name: 'deep',
    skill: {
      steps: [
        { name: 'a', tool: 'logs' },
        { name: 'b', tool: 'diagnose' },
      ],
    },
  },
  { name: 'metrics' },
  { name: 'logs', returns: { dataClass: 'personal' } },
  { name: 'helper', agent: { name: 'helper' } },
  { name: 'search', returns: { dataClass: 'health' } },
  { name: 'unused' },
]);
const agentOf = (name: string, tools: string[]): Definition['agent'] => ({
  revision: 'b'.repeat(64),
  object: { ...declared.agent.object, metadata: { app: 'demo', name }, spec: { ...declared.agent.object.spec, tools } },
});
const agents = [agentOf('helper', ['search', 'back']), agentOf('clerk', ['helper'])];
const [back] = definitionWith([{ name: 'back', agent: { name: 'helper' } }]).tools;
const source: Declared = {
  agent: (name) => agents.find(({ object }) => object.metadata.name === name),
  tool: (name) => [...declared.tools, back].find((tool) => tool?.object.metadata.name === name),
};
const namesOf = (list: { object: { metadata: { name: string } } }[] = []) =>
  list.map(({ object }) => object.metadata.name);

it('takes in what skills call and what agents behind tools use, whatever goes in circles', () => {
  const definition = pin(agentOf('analyst', ['diagnose', 'helper']), source);
  expect(namesOf(definition.tools)).toEqual(['diagnose', 'helper', 'metrics', 'deep', 'search', 'back', 'logs']);
  expect(namesOf(definition.agents)).toEqual(['helper']);
  expect(missingTool(definition)).toBeUndefined();
  expect(missingTool(pin(agentOf('analyst', ['diagnose', 'nothing']), source))).toBe('nothing');
});

it('offers none of them to the agent itself', () => {
  const definition = pin(agentOf('analyst', ['diagnose', 'helper']), source);
  expect(namesOf(allowedTools(definition, undefined))).toEqual(['diagnose', 'helper']);
});

it('counts what they return among the classes of data that a run has read', () => {
  const definition = pin(agentOf('analyst', ['diagnose', 'helper']), source);
  const asked = thought(0, { calls: [call('diagnose'), call('helper')] });
  const skill = { ...observed(0, 0), tool: 'diagnose' };
  expect(dataClassesOf(stateOf(started(), asked, skill), definition)).toEqual(['personal']);
  const both = stateOf(started(), asked, skill, { ...observed(0, 1), tool: 'helper' });
  expect(dataClassesOf(both, definition)).toEqual(['health', 'personal']);
});
