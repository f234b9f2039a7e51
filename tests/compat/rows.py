"""The table."""

import rows_logs
import rows_refused
import rows_run

ROWS = rows_run.ROWS + rows_logs.ROWS + rows_refused.ROWS
