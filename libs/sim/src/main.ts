/**
 * Runs the stand-in as a process: `main.ts --script FILE --port N`. Prints one line of JSON when it can answer; SIGTERM or
 * SIGINT ends it.
 */
import { parseConfig } from './config.ts';
import { createSim } from './create-sim.ts';

try {
  const config = parseConfig(process.argv.slice(2));
  const sim = createSim({ scripts: config.script, host: config.host, port: config.port });
  const { url } = await sim.start();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void sim.stop());
  process.stdout.write(`${JSON.stringify({ ready: true, url })}\n`);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
