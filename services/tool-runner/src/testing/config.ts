/** The environment of a process that a test started. */
export function givenEnvironment(): Record<string, string | undefined> {
  return { ...process.env };
}
