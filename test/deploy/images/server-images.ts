/**
 * Images of NATS and Postgres made of Debian packages, which start as the usual ones do: where no image can be fetched, tests
 * run on these.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ContainerEngine } from './container-engine.ts';

export const natsImage = 'localhost/pawl-test-nats';
export const postgresImage = 'localhost/pawl-test-postgres';
const serversImage = 'localhost/pawl-test-servers';

/** Makes the cluster with a server that nobody can reach, then starts the one that listens. */
const startPostgres = `#!/bin/sh
set -eu
PATH=/usr/lib/postgresql/15/bin:/usr/bin:/bin
export PGDATA=/var/lib/postgresql/data
printf '%s' "$POSTGRES_PASSWORD" > /tmp/password
initdb --locale=C --encoding=UTF8 --username=postgres --pwfile=/tmp/password --auth=scram-sha-256
echo 'host all all all scram-sha-256' >> "$PGDATA/pg_hba.conf"
pg_ctl --wait --options '-c listen_addresses= -c unix_socket_directories=/tmp' start
pg_ctl --wait stop
exec postgres -c 'listen_addresses=*' -c unix_socket_directories=/tmp
`;

const files = {
  passwd: 'root:x:0:0:root:/:/bin/sh\npostgres:x:999:999:postgres:/var/lib/postgresql:/bin/sh\n',
  group: 'root:x:0:\npostgres:x:999:\n',
  'start-postgres.sh': startPostgres,
};

const images = {
  [serversImage]: `
FROM scratch
ADD servers.tar /
COPY passwd group /etc/
`,
  [natsImage]: `
FROM ${serversImage}
ENTRYPOINT ["/usr/sbin/nats-server"]
`,
  [postgresImage]: `
FROM ${serversImage}
COPY start-postgres.sh /
RUN mkdir -p /var/lib/postgresql && chown 999:999 /var/lib/postgresql && chmod 1777 /tmp
USER 999:999
ENTRYPOINT ["/bin/sh", "/start-postgres.sh"]
`,
};

/** Makes both. */
export async function makeServerImages(engine: ContainerEngine): Promise<void> {
  const folder = join(engine.folder, 'servers');
  await mkdir(folder);
  const packages = ['postgresql-15', 'nats-server', 'dash', 'coreutils', 'base-files'];
  await engine.unpackDebian(packages, join(folder, 'servers.tar'));
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  for (const [image, text] of Object.entries(images)) {
    await writeFile(join(folder, 'Dockerfile'), text);
    await engine.buildah('bud', '--quiet', '--tag', image, '--file', join(folder, 'Dockerfile'), folder);
  }
}
