"""The site: every night that the history holds, as static pages."""
