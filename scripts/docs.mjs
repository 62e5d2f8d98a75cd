// `npm run docs`: writes docs/reference/configuration.md from the services' own tables; with --check it only compares, for verify.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const PAGE = fileURLToPath(new URL('../docs/reference/configuration.md', import.meta.url));
/** @type {readonly (readonly [app: string, table: string])[]} */
const SERVICES = [
  ['ingest-gateway', 'gatewayVariables'],
  ['indexer', 'indexerVariables'],
  ['archiver', 'archiverVariables'],
];

const { configReference } = await import('../packages/service/dist/index.js');
const sections = [];
for (const [app, table] of SERVICES) {
  const config = await import(`../apps/${app}/dist/config.js`);
  sections.push(`## ${app}\n\n${configReference(config[table])}\n`);
}
const page = `<!-- Generated from the services' tables by: npm run docs -->\n\n# Configuration\n\nEach service reads its environment at its start and names everything that is missing or wrong, all at once; then it exits with code 2.\n\n${sections.join('\n')}`;
if (!process.argv.includes('--check')) writeFileSync(PAGE, page);
else if (readFileSync(PAGE, 'utf8') !== page) {
  process.stderr.write('docs/reference/configuration.md is not what the tables say: run npm run docs.\n');
  process.exitCode = 1;
}
