import { existsSync, readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { Database } from './duckdb.ts';
import { inFolder, readRecords, recordAt, rowsOf, writeRecords } from './testing/index.ts';

/** Beside the repository on some machines; a clone alone has none, and passes without. */
const path = fileURLToPath(new URL('../../../../shared/data/access-10k.ndjson', import.meta.url));

describe.skipIf(!existsSync(path))('10,000 real events', () => {
  it('come back byte for byte, and take less than 32 bytes each', async () => {
    const database = await Database.open();
    const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
    const records = lines.map((line, i) =>
      recordAt(i, line, { key: Buffer.from('customer'), headers: [['event.type', Buffer.from('service-event')]] }),
    );
    await inFolder(async (folder) => {
      const file = await writeRecords(database, folder, records);
      const [kept] = await rowsOf(database, `SELECT count(*)::INT AS n FROM '${file.path}' WHERE value_state = 'kept'`);
      const back = await readRecords(database, file);
      expect(back.every(({ value }, i) => value?.equals(Buffer.from(lines[i] ?? '')))).toBe(true);
      expect(back.length).toBe(10_000);
      // Seen: 28.2 bytes an event, and 103 values kept, all with a number like 22.0.
      expect(statSync(file.path).size / lines.length).toBeLessThan(32);
      expect(kept?.n).toBeLessThan(200);
    });
    database.close();
  });
});
