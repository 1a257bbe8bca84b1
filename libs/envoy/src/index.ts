export { fieldOfKey, headerOfKey } from './descriptor-fields.js';
export {
  BESIDE_HEADER,
  DESCRIPTOR_HEADER,
  descriptorPattern,
  descriptorText,
  type DescriptorEntry,
  type PatternEntry,
} from './descriptor-text.js';
export { describedRequest, type DescribedRequest } from './described-request.js';
