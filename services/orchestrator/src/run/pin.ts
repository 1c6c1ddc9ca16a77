/**
 * What a run is pinned to (I7): its agent, and all that this one can reach: its tools, the tools that its skills call, the
 * agents behind its tools and theirs. Pure: where things are declared comes in.
 */
import type { Definition, ToolSpec } from '@pawl/contracts';

export type PinnedAgent = Definition['agent'];
export type PinnedTool = Definition['tools'][number];

/** Where agents and tools are looked up: the registry, or what another run is pinned to. */
export type Declared = {
  agent(name: string): PinnedAgent | undefined;
  tool(name: string): PinnedTool | undefined;
};

/** An agent with all that it reaches. What is named and not declared is left out; `missingTool` tells it. */
export function pin(agent: PinnedAgent, declared: Declared): Definition {
  const reached = reach(agent.object.spec.tools ?? [], declared);
  const ofParts = [...reached.agents.values()].toSorted((a, b) => byName(a.object, b.object));
  return {
    v: 1,
    agent: { revision: agent.revision, object: agent.object },
    tools: [...reached.tools.values()],
    ...(ofParts.length > 0 ? { agents: ofParts } : {}),
  };
}

/** A tool that the agent itself names and that is not declared. */
export function missingTool({ agent, tools }: Definition): string | undefined {
  const known = new Set(tools.map(({ object }) => object.metadata.name));
  return agent.object.spec.tools?.find((name) => !known.has(name));
}

/** What a definition holds, as a place to look things up. */
export function declaredIn({ tools, agents }: Definition): Declared {
  const named = (name: string) => (each: { object: Named }) => each.object.metadata.name === name;
  return { agent: (name) => agents?.find(named(name)), tool: (name) => tools.find(named(name)) };
}

/** The tool of a name with all that it reaches. */
export function toolsReachedBy(definition: Definition, name: string): PinnedTool[] {
  return [...reach([name], declaredIn(definition)).tools.values()];
}

function reach(names: readonly string[], declared: Declared) {
  const tools = new Map<string, PinnedTool>();
  const agents = new Map<string, PinnedAgent>();
  const pending = [...names];
  for (let name = pending.shift(); name !== undefined; name = pending.shift()) {
    const tool = tools.has(name) ? undefined : declared.tool(name);
    if (!tool) continue;
    tools.set(name, { revision: tool.revision, object: tool.object });
    pending.push(...toolsOfSkill(tool.object.spec));
    const behind = tool.object.spec.agent?.name;
    const agent = behind === undefined || agents.has(behind) ? undefined : declared.agent(behind);
    if (!agent) continue;
    agents.set(agent.object.metadata.name, { revision: agent.revision, object: agent.object });
    pending.push(...(agent.object.spec.tools ?? []));
  }
  return { tools, agents };
}

function toolsOfSkill({ skill }: ToolSpec): string[] {
  return (skill?.steps ?? []).flatMap(({ tool }) => (typeof tool === 'string' ? [tool] : []));
}

type Named = { metadata: { name: string } };

function byName(a: Named, b: Named): number {
  return a.metadata.name < b.metadata.name ? -1 : 1;
}
