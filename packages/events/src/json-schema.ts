import { SERVICE_EVENT_TYPE, SERVICE_EVENT_VERSION } from './event-headers.ts';
import { type Field, serviceEventFields } from './fields.ts';

type Schema = { readonly [keyword: string]: unknown };

function valueSchema(field: Field): Schema {
  switch (field.kind) {
    case 'instant':
      return { type: 'string', format: 'date-time' };
    case 'string':
      return {
        type: 'string',
        ...(field.minLength === undefined ? {} : { minLength: field.minLength }),
        ...(field.maxLength === undefined ? {} : { maxLength: field.maxLength }),
      };
    case 'number':
    case 'integer':
      return {
        type: field.kind,
        ...(field.min === undefined ? {} : { minimum: field.min }),
        ...(field.max === undefined ? {} : { maximum: field.max }),
      };
    case 'enum':
      return { enum: field.values };
    case 'object':
      return { type: 'object' };
  }
}

function fieldSchema(field: Field): Schema {
  const schema = valueSchema(field);
  if (field.required) return { description: field.about, ...schema };
  // An optional field that is null counts as absent.
  return 'enum' in schema
    ? { description: field.about, enum: [...(schema.enum as readonly unknown[]), null] }
    : { description: field.about, ...schema, type: [schema.type, 'null'] };
}

/** The JSON Schema (draft 2020-12) of a service event: it accepts what `validateEvent` accepts, where `date-time` is checked. */
export const serviceEventSchema: Schema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  $id: `urn:tailrace:${SERVICE_EVENT_TYPE}:${SERVICE_EVENT_VERSION}`,
  title: 'Service event',
  type: 'object',
  required: serviceEventFields.filter((field) => field.required).map((field) => field.name),
  properties: Object.fromEntries(serviceEventFields.map((field) => [field.name, fieldSchema(field)])),
  additionalProperties: true,
};
