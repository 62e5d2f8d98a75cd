#!/usr/bin/env node
// The command must exist before anything is built, so that npm can link it.
try {
  const { main } = await import('../dist/index.js');
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (error?.code !== 'ERR_MODULE_NOT_FOUND') throw error;
  process.stderr.write('tailrace is not built yet: run npm start once, or npm install and npm run build.\n');
  process.exitCode = 1;
}
