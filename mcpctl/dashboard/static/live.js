"use strict";
// Rows that come while a page is open; everything works without it.
