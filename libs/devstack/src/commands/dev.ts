/**
 * `npm run dev`: all of Pawl on this machine until Ctrl-C.
 */
import { aborted, develop } from './develop.ts';

await develop('dev', async ({ terminal, interrupted }) => {
  terminal.print('\nCtrl-C stops everything.');
  await aborted(interrupted);
  return 0;
});
