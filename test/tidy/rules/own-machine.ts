/** Nothing in the repository knows the machine it was written on, or where its packages came from. */
import { findText, type Rule } from '../rule.ts';

const places = /(?<![\w.}~-])\/(?:work|root|Users|home\/[a-z][\w-]*)\/[\w.-]*\w/g;
const registries =
  /"resolved": "https?:[^"]*|(?:^|[:-])registry[= ]https?:\S+|https?:\/\/[^\s/"'`]*(?:registry|artifactory|verdaccio|nexus)[^\s"'`)]*/gm;

export const ownMachine: Rule = {
  name: 'own-machine',
  reason: 'A clone works on any machine: no path of somebody else’s, no registry that only they can reach.',
  check: (files) => {
    const others = files.filter(({ path }) => !path.startsWith('test/tidy/'));
    return [
      ...findText(others, places, (found) => `names the place ${found}`),
      ...findText(others, registries, (found) => `names where packages come from: ${found}`),
    ];
  },
};
