import {
  DuckDBBlobValue,
  type DuckDBConnection,
  type DuckDBExtractedStatements,
  type DuckDBPreparedStatement,
  DuckDBTypeId,
  type DuckDBValueConverter,
  type Json,
  JsonDuckDBValueConverter,
  StatementType,
} from '@duckdb/node-api';
import { CANARY_SERVICE, parquetColumns } from '@tailrace/events';
import { isoTime } from '@tailrace/kafka-kit/time';
import { recordColumns } from './columns.ts';
import type { TimeWindow } from './data-objects.ts';
import { type Database, sqlName, sqlText } from './duckdb.ts';
import { restoredValueSql } from './parquet-reader.ts';
import { QueryFault, queryErrorText } from './query-fault.ts';

export interface QueryResult {
  readonly columns: readonly string[];
  readonly rows: readonly Readonly<Record<string, unknown>>[];
}

/** What `events` has beside a file's own columns: the folders' names. */
export const FOLDER_COLUMNS = ['dt', 'hour'] as const;

/** Every column with its type and without a row: a file of an earlier release that lacks one shows NULL there. */
function noEventsSql(): string {
  const columns = [...parquetColumns, ...recordColumns].map(({ name, duckdbType }) => `NULL::${duckdbType} AS ${sqlName(name)}`);
  return `SELECT ${[...columns, ...FOLDER_COLUMNS.map((name) => `NULL::VARCHAR AS ${name}`)].join(', ')} WHERE false`;
}

function windowSql({ fromMs, toMs }: TimeWindow): string {
  const bounds = [
    ...(fromMs === undefined ? [] : [`kafka_timestamp >= TIMESTAMPTZ ${sqlText(isoTime(fromMs))}`]),
    ...(toMs === undefined ? [] : [`kafka_timestamp < TIMESTAMPTZ ${sqlText(isoTime(toMs))}`]),
  ];
  return bounds.length === 0 ? '' : ` WHERE ${bounds.join(' AND ')}`;
}

/** What keeps tailrace's own canaries out. A record that is no event has no service, and stays. */
export const NO_CANARIES_SQL = `service IS DISTINCT FROM ${sqlText(CANARY_SERVICE)}`;

/** The view `all_events`: a file's columns, the day `dt` and `hour` of arrival, and in `value` always the original bytes. */
function allEventsSql(files: readonly string[], window: TimeWindow): string {
  const read =
    files.length === 0
      ? ''
      : ` UNION ALL BY NAME SELECT * FROM read_parquet([${files.map(sqlText).join(', ')}], union_by_name = true, hive_partitioning = true, hive_types_autocast = false)`;
  return `SELECT * REPLACE (${restoredValueSql(parquetColumns)} AS value) FROM (${noEventsSql()}${read})${windowSql(window)}`;
}

const WIDE_NUMBERS: ReadonlySet<DuckDBTypeId> = new Set([
  DuckDBTypeId.BIGINT,
  DuckDBTypeId.UBIGINT,
  DuckDBTypeId.HUGEINT,
  DuckDBTypeId.UHUGEINT,
]);

/** 64-bit numbers come as text; those that JavaScript holds exactly become numbers. */
function narrowed(value: unknown): unknown {
  return typeof value === 'string' && Number.isSafeInteger(Number(value)) ? Number(value) : value;
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Bytes as people read them: as text where they are UTF-8, else in DuckDB's own form, with \xNN for what is no printable ASCII. */
function blobText(blob: DuckDBBlobValue): string {
  try {
    return UTF8.decode(blob.bytes);
  } catch {
    return blob.toString(); // Safe: bytes that are no UTF-8 have no text, and this form shows each of them.
  }
}

/** As DuckDB's converter to JSON, and bytes as text, also inside lists and structs. */
const toJson: DuckDBValueConverter<Json> = (value, type, converter) =>
  value instanceof DuckDBBlobValue ? blobText(value) : JsonDuckDBValueConverter(value, type, converter);

/** A whole result is held in memory before it is shown. */
const MAX_RESULT_ROWS = 100_000;

const NO_STATEMENT = 'Error in native callback';
const MIB = 1024 * 1024;

export interface QueryOptions {
  /** Below which the lake's files lie: the only ones that the SQL can reach. */
  readonly folder: string;
  /** What DuckDB may write where it spills. */
  readonly maxSpillBytes?: number;
}

/**
 * One SQL statement over lake files, checked before any file is there. The database is locked for it, for good: no other file, no
 * network, no extension and no setting is within the SQL's reach, so that a statement from elsewhere can only read the lake.
 */
export class LakeQuery {
  readonly #connection: DuckDBConnection;
  readonly #sql: string;

  private constructor(connection: DuckDBConnection, sql: string) {
    this.#connection = connection;
    this.#sql = sql;
  }

  /** Throws QueryFault unless `sql` is one statement that reads, and fits the columns of `events`. */
  static async open(database: Database, sql: string, options: QueryOptions): Promise<LakeQuery> {
    const connection = await database.connect();
    try {
      const query = new LakeQuery(connection, sql);
      await query.#lock(options);
      await query.#see([], {});
      (await query.#prepare()).destroySync();
      return query;
    } catch (error) {
      connection.closeSync();
      throw error;
    }
  }

  /** Runs it over the files, as the views `all_events`, with the rows that arrived in the window, and `events`, without the canaries. Rejects with one sentence of DuckDB's. */
  async run(files: readonly string[], window: TimeWindow = {}): Promise<QueryResult> {
    try {
      await this.#see(files, window);
      return await this.#read(await this.#prepare());
    } catch (error) {
      throw new Error(queryErrorText(error, this.#sql), { cause: error });
    }
  }

  async #read(prepared: DuckDBPreparedStatement): Promise<QueryResult> {
    try {
      const reader = await prepared.streamAndReadUntil(MAX_RESULT_ROWS + 1);
      if (reader.currentRowCount > MAX_RESULT_ROWS)
        throw new Error(
          `the result has more than ${MAX_RESULT_ROWS} rows, and all of it is held in memory: add a LIMIT, or read the objects themselves`,
        );
      const columns = reader.deduplicatedColumnNames();
      const wide = columns.map((_, i) => WIDE_NUMBERS.has(reader.columnTypeId(i)));
      const rows = reader
        .convertRows(toJson)
        .map((row) => Object.fromEntries(columns.map((name, i) => [name, wide[i] === true ? narrowed(row[i]) : row[i]])));
      return { columns, rows };
    } finally {
      prepared.destroySync();
    }
  }

  close(): void {
    this.#connection.closeSync();
  }

  async #lock({ folder, maxSpillBytes }: QueryOptions): Promise<void> {
    const settings = [
      'errors_as_json = true',
      ...(maxSpillBytes === undefined
        ? []
        : [`max_temp_directory_size = ${sqlText(`${Math.max(1, Math.floor(maxSpillBytes / MIB))}MiB`)}`]),
      `allowed_directories = [${sqlText(folder)}]`,
      'enable_external_access = false',
      // The last one: behind it nothing can be set any more, by the SQL neither.
      'lock_configuration = true',
    ];
    for (const setting of settings) await this.#connection.run(`SET GLOBAL ${setting}`);
  }

  async #see(files: readonly string[], window: TimeWindow): Promise<void> {
    await this.#connection.run(`CREATE OR REPLACE TEMP VIEW all_events AS ${allEventsSql(files, window)}`);
    await this.#connection.run(`CREATE OR REPLACE TEMP VIEW events AS SELECT * FROM all_events WHERE ${NO_CANARIES_SQL}`);
  }

  async #statements(): Promise<DuckDBExtractedStatements> {
    try {
      return await this.#connection.extractStatements(this.#sql);
    } catch (error) {
      // DuckDB's client has no words for a text without a statement (empty, or only comments); every other fault has some.
      if (!(error instanceof Error) || error.message !== NO_STATEMENT) throw error;
      throw new QueryFault('The SQL is empty: give one statement, like SELECT count(*) FROM events.');
    }
  }

  /** Whether the SQL parses, and is something else than a SELECT: only those does DuckDB serialise. */
  async #isNoSelect(): Promise<boolean> {
    const told = await this.#connection.runAndReadAll("SELECT json_serialize_sql(CAST($1 AS VARCHAR)) ->> 'error_type'", [this.#sql]);
    return told.getRows()[0]?.[0] === 'not implemented';
  }

  async #prepare(): Promise<DuckDBPreparedStatement> {
    let prepared: DuckDBPreparedStatement;
    try {
      const statements = await this.#statements();
      if (statements.count !== 1)
        throw new QueryFault(`The SQL holds ${statements.count} statements, and one is run at a time: give each in a command of its own.`);
      prepared = await statements.prepare(0);
    } catch (error) {
      if (error instanceof QueryFault) throw error;
      // Told first: about what changes a view DuckDB says something else, each time.
      throw new QueryFault((await this.#isNoSelect()) ? 'A query only reads: give one SELECT.' : queryErrorText(error, this.#sql));
    }
    const fault = unfit(prepared);
    if (fault === undefined) return prepared;
    prepared.destroySync();
    throw new QueryFault(fault);
  }
}

/** Why a statement that binds is not run, or undefined. EXPLAIN ANALYZE would carry out what it explains, so it is none that reads. */
function unfit({ statementType, parameterCount }: DuckDBPreparedStatement): string | undefined {
  if (statementType !== StatementType.SELECT)
    return `A query only reads, and this is ${StatementType[statementType] ?? 'something else'}: give a SELECT.`;
  return parameterCount === 0 ? undefined : 'The SQL has parameters, and a command line has no values for them: write the values into it.';
}
