// `npm run docs`: writes the pages of docs/reference that are made from the tables of several services; with --check it only compares, for verify.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const SERVICES = /** @type {const} */ ([
  { app: 'ingest-gateway', variables: 'gatewayVariables', metrics: [{ module: 'metric-table.js', table: 'GATEWAY_METRICS' }] },
  { app: 'indexer', variables: 'indexerVariables', metrics: [{ module: 'metric-table.js', table: 'INDEXER_METRICS' }] },
  { app: 'archiver', variables: 'archiverVariables', metrics: [{ module: 'archive-metric-table.js', table: 'ARCHIVER_METRICS' }] },
  {
    app: 'alert-processor',
    variables: 'alertVariables',
    metrics: [
      { module: 'metric-table.js', table: 'ALERT_METRICS' },
      { module: 'watch/watch-metrics.js', table: 'WATCH_METRICS' },
    ],
  },
]);

const { configReference } = await import('../packages/service/dist/index.js');
const { metricReference, RUNTIME_METRICS } = await import('../packages/kafka-kit/dist/index.js');

async function configuration() {
  const sections = [];
  for (const { app, variables } of SERVICES) {
    const config = await import(`../apps/${app}/dist/config.js`);
    sections.push(`## ${app}\n\n${configReference(config[variables])}\n`);
  }
  return `# Configuration\n\nEach service reads its environment at its start and names everything that is missing or wrong, all at once; then it exits with code 2.\n\n${sections.join('\n')}`;
}

async function metrics() {
  const sections = [`## Every service that reads from Kafka: indexer, archiver, alert-processor\n\n${metricReference(RUNTIME_METRICS)}\n`];
  for (const { app, metrics: tables } of SERVICES) {
    const rows = {};
    for (const { module, table } of tables) Object.assign(rows, (await import(`../apps/${app}/dist/${module}`))[table]);
    sections.push(`## ${app}\n\n${metricReference(rows)}\n`);
  }
  return `# Metrics

Each service answers \`/metrics\` with these, in the format of Prometheus, on its health address (\`HEALTH_HOST\`, \`HEALTH_PORT\`), and with those of Node and its process (\`nodejs_*\`, \`process_*\`). A counter whose label values are known starts at 0, so that the rate over the first one is right. A partition that went to another member leaves no gauge behind: the sum over all members counts each partition once.

${sections.join('\n')}`;
}

const check = process.argv.includes('--check');
for (const [name, make] of Object.entries({ configuration, metrics })) {
  const path = fileURLToPath(new URL(`../docs/reference/${name}.md`, import.meta.url));
  const page = `<!-- Generated from the services' tables by: npm run docs -->\n\n${await make()}`;
  if (!check) writeFileSync(path, page);
  else if (readFileSync(path, 'utf8') !== page) {
    process.stderr.write(`docs/reference/${name}.md is not what the tables say: run npm run docs.\n`);
    process.exitCode = 1;
  }
}
