-- The end of an operation marks its start in the same statement.
CREATE TRIGGER audit_entry_end AFTER INSERT ON audit_entry WHEN NEW.state = 2
BEGIN
    UPDATE audit_entry SET state = 0 WHERE state = 1 AND id = NEW.id;
END;
