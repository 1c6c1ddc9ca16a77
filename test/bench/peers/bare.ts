/** The loop in memory: what a turn costs before anything is durable. */
import { runBareLoop } from '../agent-loop.ts';
import { readSettings, serveRuns } from './app.ts';

const settings = readSettings();
await serveRuns(settings, () => runBareLoop(settings));
