import { relative } from 'node:path';
import { undecodable } from './decode-object.ts';
import { Database, sqlText } from './duckdb.ts';
import type { FileDamage } from './file-damage.ts';

/**
 * The first of the fetched files that can not be read from end to end, under its name below `folder`; undefined where all can. For after a
 * query that failed: DuckDB seldom says over which file, and may have lost its database over it, so another one looks.
 */
export async function damagedFile(files: readonly string[], folder: string, tempFolder: string): Promise<FileDamage | undefined> {
  const database = await Database.open({ threads: 2, tempFolder });
  try {
    for (const path of files) {
      const damage = await damageOf(database, path, relative(folder, path));
      if (damage !== undefined) return damage;
    }
    return undefined;
  } finally {
    database.close();
  }
}

async function damageOf(database: Database, path: string, name: string): Promise<FileDamage | undefined> {
  try {
    // Of every column: one that is not asked for is not decoded.
    await database.use(async (connection) => {
      await connection.run(`SELECT max(hash(row_of_file)) FROM read_parquet(${sqlText(path)}, hive_partitioning = false) AS row_of_file`);
    });
    return undefined;
  } catch (error) {
    return undecodable(name, path, error);
  }
}
