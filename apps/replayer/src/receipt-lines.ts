import { CANARY_REASON } from '@tailrace/events';
import { TAILRACE } from '@tailrace/kafka-kit';
import { bothTimes, canaries, chainText, type Receipt, type ReceiptPartition, span } from '@tailrace/lake';
import { counted, offsets, WORDS } from './offsets.ts';

/** A receipt as lines for people; the last one says what it comes to. */
export function receiptLines(receipt: Receipt): string[] {
  const { plan, into, window, startedAtMs, sentAtMs, madeAtMs, sent, applied } = receipt;
  return [
    `Receipt of plan ${plan} into ${into}: from ${bothTimes(window.fromMs)} up to ${bothTimes(window.toMs)}.`,
    ...(receipt.where ?? []).map((text) => `  only where ${text}`),
    ...(receipt.keepDays === undefined ? [] : [`  kept for ${counted(receipt.keepDays, 'day')}`]),
    `Begun ${bothTimes(startedAtMs)}, sent after ${span(sentAtMs - startedAtMs)}, seen to be applied after ${span(madeAtMs - startedAtMs)}.`,
    ...receipt.partitions.flatMap(partitionLines),
    `Sent:    ${counted(sent.records, 'record')}, ${sent.bytes} bytes, checksum ${sent.checksum}`,
    `Applied: ${appliedWords(applied)}, checksum ${applied.checksum}`,
    `${verdict(receipt)}${holesWords(receipt)}`,
  ];
}

function partitionLines(each: ReceiptPartition): string[] {
  const read = each.fromLake + each.fromKafka;
  const before = read < each.records ? ', the rest by a sender that was interrupted' : '';
  const from = read === 0 ? '' : ` (${each.fromLake} from the lake, ${each.fromKafka} from Kafka${before})`;
  const passed = [
    ...(each.lost > 0 ? [`${counted(each.lost, 'offset')} declared lost`] : []),
    ...(each.beforeArchive > 0 ? [`${counted(each.beforeArchive, 'offset')} from before the archive`] : []),
    ...(each.voids > 0 ? [`${counted(each.voids, 'offset')} that never held a record`] : []),
  ];
  const gone = each.gone > 0 ? `; ${each.gone} NOT APPLIED` : each.agrees ? '' : '; THEY DIFFER';
  return [
    `${chainText(each)}: sent ${counted(each.records, 'record')}${from}; applied ${appliedWords(each.applied)}${gone}`,
    ...(passed.length === 0 ? [] : [`  passed over ${passed.join(', ')}`]),
    ...each.missing.map(({ kind, ...range }) => `  ${WORDS[kind]} ${offsets(range)}`),
  ];
}

function appliedWords({ stored, skipped, dead, retried }: Receipt['applied']): string {
  const skips = Object.entries(skipped).map(([reason, count]) => `${count} skipped (${reason})`);
  return [`${stored} stored`, ...skips, ...(dead > 0 ? [`${dead} DEAD`] : []), ...(retried > 0 ? [`${retried} tried again`] : [])].join(
    ', ',
  );
}

function verdict(receipt: Receipt): string {
  const { gone } = receipt;
  if (gone > 0)
    return `${counted(gone, 'record')} of what was sent ${gone === 1 ? 'was' : 'were'} not seen to be applied, and can not come any more: the side channel was made anew, or its records were deleted. To send the window once more, make a new plan.`;
  if (!receipt.agrees) return 'What was applied is NOT what was sent: counts or checksums differ where it says so.';
  if (receipt.applied.dead > 0)
    return `Everything that was sent was applied, but for ${counted(receipt.applied.dead, 'record')} that became ${receipt.applied.dead === 1 ? 'a dead letter' : 'dead letters'}: ${TAILRACE} dlq ls shows why.`;
  if (receipt.cancelled) return 'The run was cancelled: what had been sent was applied, and the rest of the plan was not sent.';
  return `Everything ${receipt.holes > 0 ? 'that was sent ' : ''}was applied exactly once: the checksums agree.${skippedWords(receipt)}`;
}

/** Applied is not stored: a consumer that still has its fault skips the same records again. */
function skippedWords({ into, sent, applied }: Receipt): string {
  const skipped = sent.records - applied.stored - applied.dead - canaries(applied);
  if (skipped === 0) return '';
  const reasons = Object.keys(applied.skipped)
    .filter((reason) => reason !== CANARY_REASON)
    .join(', ');
  if (applied.stored === 0)
    return ` But NOTHING was stored: ${into} skipped ${skipped === 1 ? 'the record' : `all ${skipped} records`} (${reasons}). If its fault is mended, was it started again since? To send the window once more, make a new plan.`;
  return ` But ${counted(skipped, 'record')} ${skipped === 1 ? 'was' : 'were'} skipped and not stored (${reasons}).`;
}

/** How a run ended, in a few words. */
export function outcomeWords({ applied, cancelled, agrees, gone, holes }: Receipt): string {
  return [
    appliedWords(applied),
    ...(cancelled ? ['CANCELLED'] : []),
    ...(gone > 0 ? [`${gone} NOT APPLIED`] : agrees ? [] : ['NOT what was sent']),
    ...(holes > 0 ? [`${counted(holes, 'offset')} of the window gone`] : []),
  ].join(', ');
}

function holesWords({ holes }: Receipt): string {
  if (holes === 0) return '';
  return ` But the window is NOT whole: ${counted(holes, 'offset')} of it ${holes === 1 ? 'was' : 'were'} gone when the plan was made, and nobody had declared ${holes === 1 ? 'it' : 'them'} lost.`;
}
