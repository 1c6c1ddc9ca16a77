/**
 * A lock between processes: a file that names its holder. Plain JavaScript without dependencies, because `scripts/run.mjs`
 * uses it before anything is installed.
 *
 * The holder touches the file every second. A lock is stale when its process is gone, or when it has not been touched for
 * 10 s (its process id may belong to someone else after a restart of the machine).
 */
import {
  closeSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';

const TOUCH_EVERY_MS = 1_000;
const STALE_AFTER_MS = 10_000;

export function tryLock(path) {
  mkdirSync(dirname(path), { recursive: true });
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const token = `${process.pid} ${Math.random().toString(36).slice(2)}`;
    if (create(path, token)) return { release: hold(path, token) };
    const holder = read(path);
    if (holder === undefined) continue;
    if (!isStale(path, holder)) return { heldBy: Number.parseInt(holder, 10) };
    removeStale(path, holder);
  }
  return { heldBy: 0 };
}

function create(path, token) {
  try {
    const file = openSync(path, 'wx');
    writeSync(file, token);
    closeSync(file);
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
}

function hold(path, token) {
  const timer = setInterval(() => {
    try {
      utimesSync(path, new Date(), new Date());
    } catch {
      clearInterval(timer);
    }
  }, TOUCH_EVERY_MS);
  timer.unref();
  return () => {
    clearInterval(timer);
    if (read(path) === token) rmSync(path, { force: true });
  };
}

function read(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

function isStale(path, holder) {
  const ageMs = Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
  // Empty: its creator is between opening and writing, or died there.
  if (holder === '') return ageMs > STALE_AFTER_MS;
  return ageMs > STALE_AFTER_MS || !isAlive(Number.parseInt(holder, 10));
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/** Of several that saw the same stale lock one wins; one that moved a fresh lock away by mistake puts it back. */
function removeStale(path, holder) {
  const aside = `${path}.${process.pid}`;
  try {
    renameSync(path, aside);
    if (read(aside) !== holder) linkSync(aside, path);
  } catch {
    // Someone else was quicker; the next attempt sees the new state.
  }
  rmSync(aside, { force: true });
}
