/** Processor time of a process and its children, as Linux tells it. */
import { readdir, readFile } from 'node:fs/promises';

/** Clock ticks of a second; Linux says 100 to all programs. */
const ticksPerSecond = 100;

/** Seconds that a process and its living and waited-for children have used; undefined where nobody can tell. */
export async function processorSecondsOf(pid: number): Promise<number | undefined> {
  const pids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name));
  const all = await Promise.all(pids.map(readTimes));
  const own = all.filter((times) => times && (times.pid === pid || times.parent === pid));
  return own.length === 0 ? undefined : own.reduce((sum, times) => sum + (times?.seconds ?? 0), 0);
}

async function readTimes(pid: string): Promise<{ pid: number; parent: number; seconds: number } | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  // The name before it is in parentheses and may hold anything.
  const fields = text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  const [user, system, userOfChildren, systemOfChildren] = fields.slice(11, 15);
  if (user === undefined || system === undefined) return undefined;
  const ticks = user + system + (userOfChildren ?? 0) + (systemOfChildren ?? 0);
  return { pid: Number(pid), parent: fields[1] ?? 0, seconds: ticks / ticksPerSecond };
}
