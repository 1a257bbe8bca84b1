/** The schema of any JSON value. Without one a property whose type is unknown would be documented as an object. */
export const ANY_JSON = {
  anyOf: [
    { type: 'object', additionalProperties: true },
    { type: 'array', items: {} },
    { type: 'string' },
    { type: 'number' },
    { type: 'boolean' },
  ],
  nullable: true,
};
