import { CANARY_SERVICE } from '@tailrace/events';
import { type AsyncBuffer, cachedAsyncBuffer, type FileMetaData, parquetMetadataAsync, parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';

/**
 * How many rows of a lake file people count: all but the canaries. Reads the footer, and the column of services only where its bounds
 * leave room for a canary. Throws what the buffer throws, and what a damaged file makes of its reader.
 */
export async function countEvents(buffer: AsyncBuffer): Promise<number> {
  // The column of a small file stands in the bytes that the footer was found in.
  const file = cachedAsyncBuffer(buffer);
  const metadata = await parquetMetadataAsync(file);
  const rows = Number(metadata.num_rows);
  if (!mayHoldCanaries(metadata)) return rows;
  const services = await parquetReadObjects({ file, metadata, columns: ['service'], compressors });
  return rows - services.filter(({ service }) => service === CANARY_SERVICE).length;
}

function mayHoldCanaries({ row_groups }: FileMetaData): boolean {
  return row_groups.some(({ columns }) => {
    const column = columns.find(({ meta_data }) => meta_data?.path_in_schema.join('.') === 'service')?.meta_data;
    if (column === undefined) return false;
    const { min_value: min, max_value: max } = column.statistics ?? {};
    // Without bounds nothing is known (none are written where all are NULL, and that is a cheap column to read).
    return typeof min !== 'string' || typeof max !== 'string' || (min <= CANARY_SERVICE && CANARY_SERVICE <= max);
  });
}
