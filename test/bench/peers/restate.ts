/** The loop as a handler of a Restate service, which Restate's server calls: each model reply and each tool result is a `run`. */
import { createServer, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import { askModel, callTool, runLoop } from '../agent-loop.ts';
import { importPeer, readSettings } from './app.ts';

/** The part of the SDK that is used here. */
type RestateSdk = {
  service(definition: { name: string; handlers: { run(context: Context): Promise<string> } }): object;
  createEndpointHandler(options: { services: object[] }): OnRequest;
  RestatePromise: { all<T>(promises: Promise<T>[]): Promise<T[]> };
};
type OnRequest = (request: Http2ServerRequest, response: Http2ServerResponse) => void;
type Context = { run<T>(name: string, body: () => Promise<T>): Promise<T> };

const settings = readSettings();
const sdk = (await importPeer(settings, '@restatedev/restate-sdk')) as RestateSdk;
const analyst = sdk.service({
  name: 'analyst',
  handlers: {
    run: (context) =>
      runLoop({
        askModel: (messages) => context.run('askModel', () => askModel(settings, messages)),
        callTools: (calls) =>
          sdk.RestatePromise.all(calls.map((call) => context.run('callTool', () => callTool(settings, call)))),
      }),
  },
});
// The SDK's own `serve` listens on every address.
createServer(sdk.createEndpointHandler({ services: [analyst] })).listen(settings.port, '127.0.0.1');
