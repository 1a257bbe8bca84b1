/**
 * Under this name rules see which route of a service a request goes to: `{ "field": "header.x-tollgate-route", "equals": "Payments.create" }`. What a client sends
 * under it is not looked at.
 */
export const ROUTE_HEADER = 'x-tollgate-route';
