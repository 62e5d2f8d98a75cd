import { registerMetrics } from '@tailrace/kafka-kit';
import type { Metrics } from '@tailrace/service';
import { ANSWERS, type Answer } from './answers.ts';
import type { Intake } from './intake/read-events.ts';
import { EVENT_OUTCOMES, GATEWAY_METRICS } from './metric-table.ts';

export interface GatewayMetrics {
  answered(answer: Answer): void;
  clientGone(): void;
  received(bodyBytes: number): void;
  read(intake: Intake): void;
  acknowledged(seconds: number): void;
  canaries(accepted: number): void;
}

/** The gateway's figures. An answer's counter is there before it was given, so that a rate over the first one is right. */
export function createGatewayMetrics(registry: Metrics, inFlightBytes: () => number): GatewayMetrics {
  const figures = registerMetrics(registry, GATEWAY_METRICS, { inFlight: (set) => set({}, inFlightBytes()) });
  for (const [code, { status }] of Object.entries(ANSWERS)) figures.requests.inc({ answer: code, status: String(status) }, 0);
  return {
    answered({ code, status, body }) {
      figures.requests.inc({ answer: code, status: String(status) });
      for (const outcome of EVENT_OUTCOMES) {
        if (body[outcome]) figures.events.inc({ outcome }, body[outcome]);
      }
    },
    clientGone: () => figures.gone.inc(),
    received: (bytes) => figures.bodyBytes.inc(bytes),
    read(intake) {
      figures.eventBytes.inc(intake.bytes);
      figures.withoutKey.inc(intake.withoutKey);
      for (const [reason, count] of intake.rejections.countByReason) figures.rejected.inc({ reason }, count);
    },
    acknowledged: (seconds) => figures.ack.observe(seconds),
    canaries: (accepted) => figures.canaries.inc(accepted),
  };
}
