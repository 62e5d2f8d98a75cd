/** How to reach a cluster, in the client's own words. Both clients take their settings from this one shape. */
export interface KafkaSettings {
  readonly bootstrapServers: string;
  readonly clientId: string;
  readonly securityProtocol: 'plaintext' | 'ssl' | 'sasl_plaintext' | 'sasl_ssl';
  readonly saslMechanism?: 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512';
  readonly saslUsername?: string;
  readonly saslPassword?: string;
  /** A file of certificate authorities in PEM. */
  readonly sslCaLocation?: string;
}
