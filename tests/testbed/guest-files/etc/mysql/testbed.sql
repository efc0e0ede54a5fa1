-- SPDX-License-Identifier: Apache-2.0
-- MariaDB runs this when it starts: it makes the database of slurmdbd, and the user slurm, who needs no password.
CREATE DATABASE IF NOT EXISTS slurm_acct_db;
CREATE USER IF NOT EXISTS slurm@localhost IDENTIFIED VIA unix_socket;
GRANT ALL ON slurm_acct_db.* TO slurm@localhost;
