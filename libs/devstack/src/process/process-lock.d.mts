/** Either the lock, to be released, or the process id of its holder. */
export type LockResult = { release: () => void; heldBy?: never } | { heldBy: number; release?: never };

/** Takes the lock at `path` if nobody holds it. Never waits. */
export function tryLock(path: string): LockResult;
