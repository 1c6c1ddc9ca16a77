/** Names of files and folders: one spelling, and never a drawer for odds and ends. */
import type { Rule } from '../rule.ts';

const drawers = new Set(['common', 'helper', 'helpers', 'misc', 'shared', 'types', 'util', 'utils']);

export const tellingNames: Rule = {
  name: 'telling-names',
  reason: 'What is named after nothing gathers everything: name it after what it decides or does.',
  check: (files) =>
    files.flatMap(({ path }) =>
      path
        .split('/')
        .map((part) => part.replace(/\..*$/, '').toLowerCase())
        .filter((part) => drawers.has(part))
        .map((part) => ({ path, message: `is called ${part}` })),
    ),
};

const spellings: Array<readonly [ending: RegExp, name: RegExp]> = [
  [/\.sql$/, /^(\d{4}_[a-z0-9_]+|[a-z0-9]+(-[a-z0-9]+)*)\.sql$/],
  [/\.(ts|mts|mjs|js|css|html|json|ya?ml)$/, /^\.?[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9-]+)*$/],
];
// Helm and npm look for these.
const given = /^(Chart\.yaml|values\.schema\.json|_[a-z-]+\.tpl)$/;

export const kebabCase: Rule = {
  name: 'kebab-case',
  reason: 'File systems differ in case; one spelling of names works on all of them and is found by guessing.',
  check: (files) =>
    files
      .filter(({ path }) => {
        const folders = path.split('/').slice(0, -1);
        const name = path.split('/').at(-1) ?? '';
        const spelling = spellings.find(([ending]) => ending.test(name))?.[1];
        const isName = given.test(name) || (spelling?.test(name) ?? true);
        return !isName || folders.some((folder) => !/^\.?[a-z0-9]+([-.][a-z0-9]+)*$/.test(folder));
      })
      .map(({ path }) => ({ path, message: 'is not in kebab-case' })),
};
