/** The loop as a DBOS workflow: each model reply and each tool result is a step. */
import { askModel, callTool, runLoop } from '../agent-loop.ts';
import { importPeer, readSettings, serveRuns } from './app.ts';

/** The part of the SDK that is used here. */
type DbosSdk = {
  DBOS: {
    setConfig(config: { name: string; systemDatabaseUrl: string; applicationVersion: string; logLevel: string }): void;
    launch(): Promise<void>;
    registerWorkflow<T>(body: () => Promise<T>, config: { name: string }): () => Promise<T>;
    runStep<T>(body: () => Promise<T>, config: { name: string }): Promise<T>;
  };
};

const settings = readSettings();
const { DBOS } = (await importPeer(settings, '@dbos-inc/dbos-sdk')) as DbosSdk;
const run = DBOS.registerWorkflow(
  () =>
    runLoop({
      askModel: (messages) => DBOS.runStep(() => askModel(settings, messages), { name: 'askModel' }),
      callTools: (calls) =>
        Promise.all(calls.map((call) => DBOS.runStep(() => callTool(settings, call), { name: 'callTool' }))),
    }),
  { name: 'analyst' },
);
DBOS.setConfig({
  name: 'analyst',
  applicationVersion: '1',
  systemDatabaseUrl: settings.databaseUrl,
  logLevel: 'warn',
});
await DBOS.launch();
await serveRuns(settings, run);
