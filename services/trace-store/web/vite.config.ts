/**
 * How the page is built: one folder of files that trace-store serves under /page/. Nothing in it may need more than the
 * strict content security policy allows: no inline script or style, no other host.
 */
import { gzipSync } from 'node:zlib';
import { defineConfig, type Plugin } from 'vite';

/** A compressed twin of every text file, so that serving costs no processor time. */
const compressedTwins: Plugin = {
  name: 'compressed-twins',
  apply: 'build',
  generateBundle: {
    // After every other plugin has had its say: the twin has to hold the same.
    order: 'post',
    handler(_options, bundle) {
      for (const file of Object.values(bundle)) {
        if (!/\.(js|css)$/.test(file.fileName)) continue;
        const source = gzipSync(file.type === 'chunk' ? file.code : file.source, { level: 9 });
        this.emitFile({ type: 'asset', fileName: `${file.fileName}.gz`, source });
      }
    },
  },
};

export default defineConfig({
  root: import.meta.dirname,
  base: '/page/',
  plugins: [compressedTwins],
  // For production also where a test runner has set another mode.
  oxc: { jsx: { runtime: 'automatic', development: false } },
  define: { 'process.env.NODE_ENV': '"production"' },
  build: {
    target: 'es2023',
    modulePreload: false,
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
});
