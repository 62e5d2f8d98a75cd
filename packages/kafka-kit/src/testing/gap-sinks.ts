import { kinds, type Member } from './runtime-rig.ts';
import { ScriptedSink } from './scripted-sink.ts';

/** A sink that writes down what it is told, with what it was handed over before. */
export function recorder(): { readonly sink: ScriptedSink; readonly told: string[] } {
  const sink = new ScriptedSink();
  const told: string[] = [];
  sink.gap = async ({ incarnation }, { kind, from, to }) =>
    void told.push(`${kind} ${from}-${to} of ${incarnation} after ${sink.offsets().at(-1) ?? 'nothing'}`);
  return { sink, told };
}

/** Like the archiver: a chain of its own decides where the lane begins, and an entry of it passes what is gone. */
export function chain(end = 0) {
  const { sink, told } = recorder();
  const ends = new Map<string, number>();
  const tell = sink.gap?.bind(sink);
  sink.assign = async ({ incarnation }) => ({ startAt: ends.get(incarnation) ?? end });
  sink.gap = async (lane, gap) => {
    await tell?.(lane, gap);
    ends.set(lane.incarnation, gap.to);
  };
  return { sink, told, ends };
}

/** Every gap that a member was told to meet: its class, its range and what was done. */
export function gapsOf(member: Member): string[] {
  return kinds(member.events, 'gap').map((event) =>
    event.kind === 'gap' ? `${event.gap.kind} ${event.gap.from}-${event.gap.to} ${event.done}` : '',
  );
}
