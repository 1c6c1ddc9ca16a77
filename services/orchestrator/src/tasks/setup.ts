/**
 * Makes the streams and buckets that Pawl stands on, gives them the copies that are asked for, and the work queues of the apps that are named, so that what scales by
 * their length finds them. Run before the services start; safe to repeat.
 */
import process from 'node:process';
import { connectBus, ensureWorkQueue, setCopies } from '@pawl/bus';
import { lanes } from '@pawl/contracts';
import { busOptionsOf, runTask } from '@pawl/service';
import { loadSetupConfig } from '../config.ts';

await runTask(async () => {
  const config = loadSetupConfig();
  const say = (line: string) => void process.stdout.write(`${line}\n`);
  say(`connecting to NATS at ${new URL(config.PAWL_NATS_URL.split(',')[0] ?? '').host}`);
  const bus = await connectBus({ ...busOptionsOf(config), name: 'pawl-setup' });
  say(`streams and buckets are there, with ${bus.partitions} partitions`);
  for (const name of await setCopies(bus.jsm, config.PAWL_REPLICAS)) {
    say(`stream ${name} now has ${config.PAWL_REPLICAS} copies`);
  }
  for (const app of config.PAWL_APPS) {
    for (const lane of lanes) say(`queue ${await ensureWorkQueue(bus, 'think', { queue: lane, app })}`);
    for (const pool of config.PAWL_POOLS) say(`queue ${await ensureWorkQueue(bus, 'act', { queue: pool, app })}`);
  }
  await bus.close();
});
