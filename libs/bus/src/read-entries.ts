/** Looks at every entry of an object store once, in the order in which they were written. */
import { objectStream } from '@pawl/contracts';
import type { Bus } from './connect.ts';
import { objectSubjects } from './object-subjects.ts';
import { readInOrder } from './read-in-order.ts';

export type ObjectEntry = {
  name: string;
  /** Of its bytes. */
  id: string;
  metadata: Readonly<Record<string, string>>;
  writtenAtMs: number;
};

/** `onEntry` may remove what it is given. Throws what `onEntry` throws. */
export async function readEntries(
  bus: Bus,
  bucket: string,
  onEntry: (entry: ObjectEntry) => Promise<void>,
): Promise<void> {
  const end = Promise.withResolvers<void>();
  const reading = readInOrder(bus, {
    stream: objectStream(bucket),
    filter: objectSubjects(bucket).entries,
    startSequence: 1,
    isLastPerSubject: true,
    async onMessage(message) {
      const { name, nuid: id, metadata = {} } = message.json<{ name: string; nuid: string; metadata?: {} }>();
      await onEntry({ name, id, metadata, writtenAtMs: message.time.getTime() });
    },
    onCaughtUp: end.resolve,
    onRewound: () => {},
  });
  try {
    await Promise.race([end.promise, reading.done]);
  } finally {
    await reading.stop();
  }
}
