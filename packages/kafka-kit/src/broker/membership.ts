/** How a group member joins. `consumer` is KIP-848, whose session is the broker's; `classic` is cooperative-sticky with its own. */
export type GroupProtocol = { readonly kind: 'consumer' } | ClassicProtocol;

interface ClassicProtocol {
  readonly kind: 'classic';
  readonly sessionTimeoutMs: number;
  /**
   * A static member (KIP-345): who joins under the id of a member that died has its partitions at once, and needs not wait for its session's end.
   * One that leaves keeps them until then. Of two with one id the earlier one is fenced, which is fatal to it.
   */
  readonly instanceId?: string;
}

export interface GroupMembership {
  readonly group: string;
  readonly protocol: GroupProtocol;
  readonly maxPollIntervalMs: number;
}

/** The protocol in librdkafka's names. */
export function protocolSettings(protocol: GroupProtocol): Record<string, string | number> {
  if (protocol.kind === 'consumer') return { 'group.protocol': 'consumer' };
  const { sessionTimeoutMs, instanceId } = protocol;
  return {
    'partition.assignment.strategy': 'cooperative-sticky',
    'session.timeout.ms': sessionTimeoutMs,
    ...(instanceId === undefined ? {} : { 'group.instance.id': instanceId }),
  };
}
