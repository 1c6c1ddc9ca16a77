/** Reads the bucket of settings as another service would. */
import type { Bus } from '@pawl/bus';
import { buckets } from '@pawl/contracts';
import { Kvm } from '@nats-io/kv';

export async function createKvReader(bus: Bus): Promise<(key: string) => Promise<string | undefined>> {
  const settings = await new Kvm(bus.js).open(buckets.settings);
  return async (key) => (await settings.get(key))?.string();
}
