/** What tests of the page take from the environment, and where they leave what they saw. */
import { fileURLToPath } from 'node:url';

/** How many times slower than it could be the page is made; 1 leaves it as it is. */
export const pageSlowness = Number(process.env['PAWL_TEST_PAGE_SLOWNESS'] ?? 1);

/** Where each test leaves a picture of what stood on the page at its end. */
export const picturesFolder = fileURLToPath(new URL('../../../../.pawl/page-tests/', import.meta.url));
