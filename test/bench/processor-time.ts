/** Processor time of processes, as Linux tells it. */
import { readdir, readFile } from 'node:fs/promises';

/** Clock ticks of a second; Linux says 100 to all programs. */
const ticksPerSecond = 100;

/** Seconds that a process and its living and waited-for children have used; undefined where nobody can tell. */
export async function processorSecondsOf(pid: number): Promise<number | undefined> {
  const own = (await readProcesses()).filter((one) => one.pid === pid || one.parent === pid);
  return own.length === 0 ? undefined : own.reduce((sum, { seconds }) => sum + seconds, 0);
}

/**
 * Seconds that this process and all that it started have used, by name: of Pawl's services and of the peers' apps their own, of
 * others the program's. Nothing where nobody can tell.
 */
export async function processorSecondsByName(): Promise<Record<string, number>> {
  const all = await readProcesses();
  const isOurs = ({ pid, parent }: ProcessTime): boolean => {
    const above = all.find((one) => one.pid === parent);
    return pid === process.pid || (above !== undefined && isOurs(above));
  };
  const seconds: Record<string, number> = {};
  for (const one of all.filter(isOurs)) {
    const name = one.pid === process.pid ? 'this bench' : nameOf(one.command);
    seconds[name] = (seconds[name] ?? 0) + one.seconds;
  }
  return seconds;
}

function nameOf(command: string): string {
  const ours = /(?:services|bench\/peers)\/([\w-]+)(?:\/src|\.ts)/.exec(command)?.[1];
  return ours ?? /^(?:\S*\/)?([\w-]+)/.exec(command)?.[1] ?? 'unknown';
}

type ProcessTime = { pid: number; parent: number; seconds: number; command: string };

async function readProcesses(): Promise<ProcessTime[]> {
  const pids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name));
  return (await Promise.all(pids.map(readProcess))).filter((one) => one !== undefined);
}

async function readProcess(pid: string): Promise<ProcessTime | undefined> {
  const [text, command] = await Promise.all(
    ['stat', 'cmdline'].map((file) => readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '')),
  );
  if (text === undefined || command === undefined) return undefined;
  // The name before it is in parentheses and may hold anything.
  const fields = text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  const [user, system, userOfChildren, systemOfChildren] = fields.slice(11, 15);
  if (user === undefined || system === undefined) return undefined;
  const ticks = user + system + (userOfChildren ?? 0) + (systemOfChildren ?? 0);
  return {
    pid: Number(pid),
    parent: fields[1] ?? 0,
    seconds: ticks / ticksPerSecond,
    command: command.replaceAll('\0', ' '),
  };
}
