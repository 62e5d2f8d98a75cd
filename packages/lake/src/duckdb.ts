import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';

export interface DatabaseOptions {
  /** Two leave nothing of a small machine to the event loop; one is the default. */
  readonly threads?: 1 | 2;
  /** In MiB. */
  readonly memoryLimitMb?: number;
  /** Where DuckDB may spill; nowhere when absent. */
  readonly tempFolder?: string;
}

const MIB = 1024 * 1024;
const DEFAULT_MEMORY_LIMIT_MB = 512;

/** A text as an SQL literal. */
export function sqlText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** A name as an SQL identifier. */
export function sqlName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** DuckDB in memory, with bounded memory and threads, in UTC, and without fetching any extension. Queries run off the main thread. */
export class Database {
  readonly memoryLimitBytes: number;
  readonly #instance: DuckDBInstance;

  private constructor(instance: DuckDBInstance, memoryLimitBytes: number) {
    this.#instance = instance;
    this.memoryLimitBytes = memoryLimitBytes;
  }

  static async open(options: DatabaseOptions = {}): Promise<Database> {
    const memoryLimitMb = options.memoryLimitMb ?? DEFAULT_MEMORY_LIMIT_MB;
    const instance = await DuckDBInstance.create(':memory:', {
      threads: String(options.threads ?? 1),
      memory_limit: `${memoryLimitMb}MiB`,
      autoinstall_known_extensions: 'false',
      autoload_known_extensions: 'false',
      temp_directory: options.tempFolder ?? '',
    });
    return new Database(instance, memoryLimitMb * MIB);
  }

  /** A connection of its own; the caller closes it. */
  async connect(): Promise<DuckDBConnection> {
    const connection = await this.#instance.connect();
    await connection.run(`SET TimeZone = 'UTC'`);
    return connection;
  }

  /** Runs `work` on a connection of its own. */
  async use<T>(work: (connection: DuckDBConnection) => Promise<T>): Promise<T> {
    const connection = await this.connect();
    try {
      return await work(connection);
    } finally {
      connection.closeSync();
    }
  }

  close(): void {
    this.#instance.closeSync();
  }
}
