/**
 * The command line of the stand-in.
 */
import { parseArgs } from 'node:util';
import { z } from 'zod';

const configSchema = z.object({
  script: z.array(z.string().min(1)).min(1, 'at least one --script FILE is needed'),
  port: z.coerce.number().int().min(0).max(65_535).default(0),
  host: z.string().min(1).default('127.0.0.1'),
});

export type Config = z.infer<typeof configSchema>;

/** Reads `--script FILE [--script FILE2] [--port N] [--host H]`. Throws with every mistake in one message. */
export function parseConfig(commandLine: readonly string[]): Config {
  const { values } = parseArgs({
    args: [...commandLine],
    options: {
      script: { type: 'string', multiple: true, default: [] },
      port: { type: 'string' },
      host: { type: 'string' },
    },
  });
  const parsed = configSchema.safeParse(values);
  if (parsed.success) return parsed.data;
  throw new Error(parsed.error.issues.map((issue) => `--${issue.path.join('.')}: ${issue.message}`).join('\n'));
}
