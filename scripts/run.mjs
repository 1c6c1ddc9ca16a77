/**
 * The entry of every npm script: `node scripts/run.mjs <verb> [arguments]`. Runs on whatever Node the machine has, with
 * nothing installed, and hands over to the Node of node_modules. It must not import anything before the version is known.
 */
const NODE_MAJOR_MIN = 20;

if (Number.parseInt(process.versions.node, 10) < NODE_MAJOR_MIN) {
  console.error(
    `Pawl needs Node.js ${NODE_MAJOR_MIN} or newer to start, and this is ${process.version}. ` +
      'Install a newer one from https://nodejs.org and try again.',
  );
  process.exitCode = 1;
} else {
  void import('./launch.mjs').then(({ launch }) => launch(process.argv[2], process.argv.slice(3)));
}
