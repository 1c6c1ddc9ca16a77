/**
 * Runs as a process of its own beside each process that starts children, and ends them when that process is gone for any
 * reason, `kill -9` included. It must not do anything else, and must not import anything but Node.
 *
 * Its standard input is a pipe that only the owner holds: lines `+<pid> <signal>` and `-<pid>`; its end means that the
 * owner is gone.
 */
import { createInterface } from 'node:readline';

const GRACE_MS = 5_000;
const children = new Map<number, NodeJS.Signals>();

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);

const lines = createInterface({ input: process.stdin });
lines.on('line', (line) => {
  const [pid = '', signal = 'SIGTERM'] = line.slice(1).split(' ');
  if (line.startsWith('+')) children.set(Number(pid), signal as NodeJS.Signals);
  else children.delete(Number(pid));
});
lines.on('close', endChildren);

function endChildren(): void {
  if (children.size === 0) return;
  for (const [pid, signal] of children) kill(pid, signal);
  const end = performance.now() + GRACE_MS;
  const timer = setInterval(() => {
    for (const pid of children.keys()) if (!kill(pid, 0)) children.delete(pid);
    if (children.size > 0 && performance.now() < end) return;
    // Each child leads a process group, so this reaches what it has started itself.
    for (const pid of children.keys()) kill(-pid, 'SIGKILL');
    clearInterval(timer);
  }, 50);
}

function kill(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}
