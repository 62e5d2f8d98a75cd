import { COMMAND_EXIT, type CommandPorts } from '@tailrace/service';

export const EXIT = COMMAND_EXIT;

export interface Ports extends CommandPorts {
  /** The topics of the stream. */
  readonly topics: readonly string[];
  /** Where groups' positions are kept, and how far a replay was sent. */
  readonly positionsTopic: string;
}

export interface JsonFlag {
  readonly json?: boolean;
}
