import { auditLake, Database, fetchObjects, Ledger, listDataObjects, queryFiles, S3Store } from '@tailrace/lake';
import { ConfigError } from '@tailrace/service';
import { Command, CommanderError, Option } from 'commander';
import { readLakeConfig } from './config.ts';
import { auditLines } from './lake-audit.ts';
import { lakeLayout } from './lake-layout.ts';
import { tableLines } from './table.ts';
import { inTemporaryFolder } from './temporary-folder.ts';

/** 0 good, 1 a finding or failed work, 2 wrong use. */
export const EXIT = { good: 0, finding: 1, failed: 1, wrongUse: 2 } as const;

/** Where a command writes: `out` its result, `note` what happens meanwhile. */
export interface Terminal {
  out(text: string): void;
  note(text: string): void;
}

const MIB = 1024 * 1024;

/** Runs one `lake …` command line (without node and script). Resolves with the exit code; errors are one sentence. */
export async function lakeCommand(argv: readonly string[], terminal: Terminal): Promise<number> {
  let code: number = EXIT.good;
  const program = buildProgram(terminal, (result) => {
    code = result;
  });
  try {
    await program.parseAsync(argv, { from: 'user' });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.good : EXIT.wrongUse;
    terminal.note(`${error instanceof ConfigError ? error.lines.join('\n') : error instanceof Error ? error.message : String(error)}\n`);
    return error instanceof ConfigError ? EXIT.wrongUse : EXIT.failed;
  }
}

function buildProgram(terminal: Terminal, done: (code: number) => void): Command {
  const json = (): Option => new Option('--json', 'print one JSON object');
  const program = new Command('tailrace')
    .exitOverride()
    .configureOutput({ writeOut: (text) => terminal.out(text), writeErr: (text) => terminal.note(text) })
    .showHelpAfterError('(tailrace lake --help lists the commands)');
  const lake = program.command('lake').description('Look into the lake: the Parquet archive of all events.');
  lake.action(() => lake.help({ error: true }));
  lake
    .command('audit')
    .description('check that every partition is covered exactly once and each object is as its ledger entry says; exit code 1 when not')
    .addOption(json())
    .action(async (options: { json?: boolean }) => done(await audit(options.json === true, terminal)));
  lake
    .command('query')
    .description('run SQL (DuckDB) over the view `events`: all objects of the lake, with `dt` and `hour` of arrival')
    .argument('<sql>', 'one statement, like: SELECT service, count(*) FROM events GROUP BY service')
    .addOption(json())
    .action(async (sql: string, options: { json?: boolean }) => {
      await query(sql, options.json === true, terminal);
      done(EXIT.good);
    });
  return program;
}

async function audit(json: boolean, terminal: Terminal): Promise<number> {
  return await withStore(async (store, layout) => {
    const report = await auditLake(new Ledger(store, layout));
    const lines = auditLines(report, `${store.name}/${layout.prefix}`);
    terminal.out(json ? `${JSON.stringify({ clean: report.findings.length === 0, ...report })}\n` : `${lines.join('\n')}\n`);
    return report.findings.length === 0 ? EXIT.good : EXIT.finding;
  });
}

async function query(sql: string, json: boolean, terminal: Terminal): Promise<void> {
  await withStore(async (store, layout) => {
    const objects = await listDataObjects(store, layout);
    const bytes = objects.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    terminal.note(`fetching ${objects.length} ${objects.length === 1 ? 'object' : 'objects'}, ${(bytes / MIB).toFixed(1)} MiB\n`);
    const result = await inTemporaryFolder(async (folder) => {
      const database = await Database.open({ threads: 2, tempFolder: folder });
      try {
        return await queryFiles(database, await fetchObjects(store, objects, folder), sql);
      } finally {
        database.close();
      }
    });
    terminal.out(json ? `${JSON.stringify(result)}\n` : `${tableLines(result).join('\n')}\n`);
  });
}

async function withStore<T>(work: (store: S3Store, layout: ReturnType<typeof lakeLayout>) => Promise<T>): Promise<T> {
  const config = readLakeConfig();
  const store = new S3Store(config.s3);
  try {
    return await work(store, lakeLayout(config.s3));
  } finally {
    store.close();
  }
}
