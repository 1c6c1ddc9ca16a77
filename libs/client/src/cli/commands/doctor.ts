/** `pawl doctor`: looks whether this machine can talk to a Pawl that works, and says what to do where not. */
import { createClient } from '../../client.ts';
import { isPassing, PawlError } from '../../pawl-error.ts';
import { CommandError } from '../command-error.ts';
import { findConnection, type Connection, type ConnectionOptions } from '../config.ts';
import type { CommandLine } from '../context.ts';
import type { Output } from '../output.ts';

type Finding = { check: string; isFine: boolean; detail: string; advice?: string };

const services = {
  orchestrator: '/v1/runs',
  'tool-runner': '/v1/tools',
  'llm-gateway': '/v1/routes',
  'trace-store': '/v1/traces',
} as const;
const answerWithinMs = 5_000;

export function addDoctorCommand(
  { program, setExitCode }: CommandLine,
  given: { output: () => Output; connection: () => ConnectionOptions },
): void {
  program
    .command('doctor')
    .description('check that Pawl is there and works, and say what to do where not')
    .action(async () => setExitCode(await examine(given.output(), given.connection())));
}

/** The exit code: 0 when all is well, 1 otherwise. */
async function examine(output: Output, options: ConnectionOptions): Promise<number> {
  const findings = [checkNode(), ...(await checkPawl(options))];
  output.result(findings, () => findings.map((finding) => describe(finding, output)).join('\n'));
  return findings.every(({ isFine }) => isFine) ? 0 : 1;
}

function checkNode(): Finding {
  const isFine = Number.parseInt(process.versions.node, 10) >= 24;
  const advice = { advice: 'run "npm ci" in the checkout: it brings Node 24 in node_modules' };
  return { check: 'Node', isFine, detail: process.version, ...(!isFine && advice) };
}

async function checkPawl(options: ConnectionOptions): Promise<Finding[]> {
  let connection: Connection;
  try {
    connection = findConnection(options);
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    const [detail = '', advice = ''] = error.message.split('\n');
    return [{ check: 'where Pawl is', isFine: false, detail, advice }];
  }
  const { url, source } = connection;
  const found = { check: 'where Pawl is', isFine: true, detail: `${url}, from ${source}` };
  const key = await checkKey(connection);
  if (!key.isFine) return [found, key];
  return [
    found,
    key,
    ...(await Promise.all(Object.entries(services).map((service) => checkService(connection, service)))),
  ];
}

async function checkKey(connection: Connection): Promise<Finding> {
  const check = 'the key';
  try {
    const { items } = await createClient({ baseUrl: connection.url, key: connection.key }).listRuns({ limit: 1 });
    return { check, isFine: true, detail: items.length === 0 ? 'accepted; no runs yet' : 'accepted' };
  } catch (error) {
    if (!(error instanceof PawlError)) throw error;
    return { check, isFine: false, detail: error.detail, advice: adviceFor(error, connection) };
  }
}

function adviceFor(error: PawlError, { source }: Connection): string {
  if (error.status === 401)
    return `the key from ${source} is not known there; start "npm run dev" again, or ask for a new key`;
  if (error.status === 403) return 'ask for a key with the scopes runs:read and runs:write';
  if (isPassing(error))
    return 'nothing is listening or a part is down; start it with "npm run dev" and look into .pawl/logs';
  return 'is the URL that of Pawl’s front door?';
}

async function checkService(connection: Connection, [check, path]: [string, string]): Promise<Finding> {
  const response = await fetch(`${connection.url.replace(/(?<!\/)\/+$/, '')}${path}`, {
    headers: { authorization: `Bearer ${connection.key}` },
    signal: AbortSignal.timeout(answerWithinMs),
  }).catch(() => undefined);
  await response?.body?.cancel();
  const detail = response ? `${path} answers ${response.status}` : `${path} does not answer`;
  // A key without the scope is refused by the service itself, which therefore works.
  const isFine = response !== undefined && (response.ok || response.status === 403);
  const advice = { advice: `look into .pawl/logs/${check}.log, or at the log of ${check}` };
  return { check, isFine, detail, ...(!isFine && advice) };
}

function describe(finding: Finding, { colors }: Output): string {
  const mark = finding.isFine ? colors.green('ok  ') : colors.red('FAIL');
  const advice = finding.advice === undefined ? '' : `\n     → ${finding.advice}`;
  return `${mark} ${finding.check}: ${finding.detail}${advice}`;
}
