/**
 * For which app a reader asks whose token is of several. The services say which there are when a request names none. The choice
 * stays in this tab's session.
 */

const storageName = 'pawl.apps';

export type AppChoice = {
  apps: string[];
  /** Null: not chosen yet. */
  app: string | null;
};

/** Undefined where the reader has one app, or a key. */
export function readAppChoice(): AppChoice | undefined {
  const stored = sessionStorage.getItem(storageName);
  return stored === null ? undefined : (JSON.parse(stored) as AppChoice);
}

export function keepAppChoice(choice: AppChoice): void {
  sessionStorage.setItem(storageName, JSON.stringify(choice));
}

export function forgetAppChoice(): void {
  sessionStorage.removeItem(storageName);
}
