/** What every call of a tool goes through, whoever carries it out: its arguments are checked, its result is cleaned and cut. */
export { admitArguments, type AdmittedArguments } from './admit-arguments.ts';
export { createArgumentValidator, type ArgumentValidator } from './argument-validator.ts';
export { boundsProblem, objectText, parseArguments, parseExact, type Arguments } from './arguments.ts';
export { boundedPattern } from './bounded-pattern.ts';
export { cutData, cutEnds, largestThat, type CutData } from './cut-data.ts';
export { injectionWarning } from './injection-flags.ts';
export { compactJson, maxDepthOf, sliceJson } from './json-slices.ts';
export { textData, visibleJson, visibleText } from './visible-text.ts';
