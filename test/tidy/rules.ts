/** All rules of the repository. Each has fixtures under its name, one that it must catch and one that it must pass. */
import { checkedConnections } from './rules/checked-connections.ts';
import { composition, directions, importPaths } from './rules/directions.ts';
import { documentedObjects } from './rules/documented-objects.ts';
import { environment } from './rules/environment.ts';
import { fileLength } from './rules/file-length.ts';
import { kebabCase, tellingNames } from './rules/file-names.ts';
import { generatedParts } from './rules/generated-parts.ts';
import { headComment } from './rules/head-comment.ts';
import { linearPatterns } from './rules/linear-patterns.ts';
import { markdownLinks } from './rules/markdown-links.ts';
import { migrationNumbers } from './rules/migrations.ts';
import { ownMachine } from './rules/own-machine.ts';
import { declaredDependencies, exactVersions } from './rules/package-manifests.ts';
import { polledReads } from './rules/polled-reads.ts';
import { publicDocs } from './rules/public-docs.ts';
import { noSleeps, reasonedSkips, testsAreRun } from './rules/tests.ts';
import type { Rule } from './rule.ts';

export const rules: readonly Rule[] = [
  fileLength,
  tellingNames,
  kebabCase,
  headComment,
  publicDocs,
  environment,
  declaredDependencies,
  exactVersions,
  directions,
  importPaths,
  composition,
  checkedConnections,
  ownMachine,
  markdownLinks,
  documentedObjects,
  testsAreRun,
  reasonedSkips,
  noSleeps,
  polledReads,
  linearPatterns,
  generatedParts,
  migrationNumbers,
];
