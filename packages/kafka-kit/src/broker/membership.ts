/** How a group member joins. `consumer` is KIP-848, whose session is the broker's; `classic` is cooperative-sticky with its own. */
export type GroupProtocol = { readonly kind: 'consumer' } | { readonly kind: 'classic'; readonly sessionTimeoutMs: number };

export interface GroupMembership {
  readonly group: string;
  readonly protocol: GroupProtocol;
  readonly maxPollIntervalMs: number;
}

/** The protocol in librdkafka's names. */
export function protocolSettings(protocol: GroupProtocol): Record<string, string | number> {
  if (protocol.kind === 'consumer') return { 'group.protocol': 'consumer' };
  return { 'partition.assignment.strategy': 'cooperative-sticky', 'session.timeout.ms': protocol.sessionTimeoutMs };
}
