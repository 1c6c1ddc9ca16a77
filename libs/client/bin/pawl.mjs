#!/usr/bin/env node
/** Starts the command line under the Node of node_modules, whatever Node this is. Plain JavaScript for Node 20. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const main = fileURLToPath(new URL('../src/cli/main.ts', import.meta.url));
const node = fileURLToPath(new URL('../../../node_modules/.bin/node', import.meta.url));

if (existsSync(node)) {
  const child = spawn(node, [main, ...process.argv.slice(2)], { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => {
    console.error(`${node} could not be started: ${error.message}`);
    process.exitCode = 1;
  });
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? (signal === 'SIGINT' ? 130 : 1);
  });
} else {
  console.error('The npm packages are not installed yet. Run "npm ci" (or "npm run demo") in the checkout first.');
  process.exitCode = 1;
}
