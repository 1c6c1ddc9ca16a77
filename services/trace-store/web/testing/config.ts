/** What tests of the page take from the environment. */

/** How many times slower than it could be the page is made; 1 leaves it as it is. */
export const pageSlowness = Number(process.env['PAWL_TEST_PAGE_SLOWNESS'] ?? 1);
